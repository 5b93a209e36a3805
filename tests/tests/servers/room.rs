//! A server, role or user with too few connections: refused at opening, with the sum.

use evento_runtime::StoreErrorKind;
use evento_tests::servers::unique;
use sqlx::AssertSqlSafe;

pub(crate) fn as_user(url: &str, user: &str) -> String {
    let (scheme, address) = url.split_once("://").unwrap();
    let address = address.rsplit_once('@').map_or(address, |(_, address)| address);
    format!("{scheme}://{user}:secret@{address}")
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn a_role_of_few_connections_is_refused() {
    use evento_runtime::store::Postgres;
    let Some(corner) = crate::postgres::Corner::new() else { return };
    let mut admin = corner.stranger().await;
    let role = unique("u_");
    let database: String = sqlx::query_scalar("SELECT current_database()").fetch_one(&mut admin).await.unwrap();
    let make = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'secret' CONNECTION LIMIT 5; GRANT CREATE ON DATABASE \"{database}\" TO {role}"
    );
    sqlx::raw_sql(AssertSqlSafe(make)).execute(&mut admin).await.unwrap();
    let config = || Postgres::url(&as_user(&corner.url, &role)).schema(corner.schema.name());
    let error = config().open().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Config);
    let text = error.to_string();
    let sum = "16 connections are needed (4 writing + 2 reading + 1 renewing + 8 for transactions + 1 listening)";
    assert!(text.contains(sum) && text.contains(&format!("`{role}` allows 5")), "{text}");
    let exists = sqlx::query("SELECT 1 FROM pg_namespace WHERE nspname = $1").bind(corner.schema.name());
    assert!(exists.fetch_optional(&mut admin).await.unwrap().is_none(), "nothing was made");
    config().writers(1).readers(1).transactions(1).open().await.unwrap().close().await;
    assert_eq!(config().writers(1).readers(1).transactions(2).open().await.unwrap_err().kind(), StoreErrorKind::Config);
    let drop = format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}");
    sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut admin).await.unwrap();
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread")]
async fn a_user_of_few_connections_is_refused() {
    use evento_runtime::store::MySql;
    use evento_tests::servers::reach;
    use sqlx::Connection as _;
    let url = match reach("EVENTO_TEST_MYSQL_URL") {
        Ok(url) => url,
        Err(reason) => return evento_tests::skip(&reason),
    };
    let prefix = evento_tests::servers::Prefix::new();
    let mut admin = sqlx::MySqlConnection::connect(&url).await.unwrap();
    let user = unique("u_");
    let make = format!(
        "CREATE USER '{user}'@'%' IDENTIFIED BY 'secret' WITH MAX_USER_CONNECTIONS 4; GRANT ALL ON *.* TO '{user}'@'%'"
    );
    sqlx::raw_sql(AssertSqlSafe(make)).execute(&mut admin).await.unwrap();
    let config = || MySql::url(&as_user(&url, &user)).prefix(prefix.name());
    let error = config().open().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Config, "{error}");
    let text = error.to_string();
    let sum = "15 connections are needed (4 writing + 2 reading + 1 renewing + 8 for transactions)";
    assert!(text.contains(sum) && text.contains("max_user_connections of the user allows 4"), "{text}");
    config().writers(1).readers(1).transactions(1).open().await.unwrap().close().await;
    let drop = format!("DROP USER '{user}'@'%'");
    sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut admin).await.unwrap();
}
