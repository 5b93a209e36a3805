// Keeps numbers up to date and draws charts. Everything can be read without it. Texts go in as text, never as markup.
"use strict";

(() => {
    const source = document.body.dataset.live;
    if (!source || !window.EventSource) return;

    const SAMPLES = 120;
    const SVG = "http://www.w3.org/2000/svg";
    const state = document.getElementById("live");
    const samples = new Map();

    const say = (text) => {
        if (state.textContent !== text) state.textContent = text;
    };

    const duration = (seconds) => {
        if (seconds < 0.0005) return "0 s";
        if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
        if (seconds < 10) return `${seconds.toFixed(1)} s`;
        if (seconds < 120) return `${Math.round(seconds)} s`;
        if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
        if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
        return `${Math.round(seconds / 86400)} d`;
    };

    const KINDS = {
        "moving": "good", "caught up": "good", "paused": "warn", "standing": "bad", "unowned": "bad",
    };

    const put = (element, text) => {
        if (element && element.textContent !== text) element.textContent = text;
    };

    const field = (root, name) => root.querySelector(`[data-field="${name}"]`);

    const showStatus = (cell, consumer) => {
        if (!cell) return;
        const badge = document.createElement("span");
        badge.className = `badge ${KINDS[consumer.status] || "plain"}`;
        badge.textContent = consumer.status;
        const why = consumer.reason && consumer.reason !== consumer.status ? consumer.reason : "";
        if (cell.textContent !== `${consumer.status} ${why}`) cell.replaceChildren(badge, ` ${why}`);
    };

    const showConsumer = (root, consumer) => {
        const lag = consumer.lag;
        const behind = lag.events === 0 ? "0" : `${lag.events}${lag.more ? "+" : ""} (${duration(lag.seconds)})`;
        showStatus(field(root, "status"), consumer);
        put(field(root, "lag"), behind);
        put(field(root, "last_settled"), consumer.last_settled || "–");
        put(field(root, "last_started"), consumer.last_started || "–");
        put(field(root, "rate"), consumer.rate === null ? "–" : consumer.rate.toFixed(0));
        put(field(root, "error_streak"), String(consumer.error_streak));
        put(field(root, "dead_letters"), String(consumer.dead_letters));
        if (consumer.parallel) {
            put(field(root, "in_flight"), String(consumer.parallel.in_flight));
            put(field(root, "saturated"), String(consumer.parallel.saturated));
            put(field(root, "transient_failures"), String(consumer.parallel.transient_failures));
        }
    };

    const short = (value) => (value > 0 && value < 10 ? value.toFixed(1).replace(".0", "") : String(Math.round(value)));

    const shape = (tag, name) => {
        const element = document.createElementNS(SVG, tag);
        element.setAttribute("class", name);
        return element;
    };

    // A line over the last samples, from 0 to the highest of them.
    const draw = (figure, value) => {
        const list = samples.get(figure) || [];
        list.push(value);
        if (list.length > SAMPLES) list.shift();
        samples.set(figure, list);
        let svg = figure.querySelector("svg");
        if (!svg) {
            svg = document.createElementNS(SVG, "svg");
            svg.setAttribute("viewBox", "0 0 120 40");
            svg.setAttribute("preserveAspectRatio", "none");
            svg.setAttribute("role", "img");
            svg.append(shape("path", "area"), shape("path", "line"));
            figure.append(svg);
            const now = document.createElement("b");
            figure.querySelector("figcaption").append(": ", now);
            figure.classList.add("drawn");
        }
        const most = Math.max(...list) || 1;
        const x = (n) => (SAMPLES - list.length + n).toFixed(1);
        const y = (one) => (39 - (one / most) * 38).toFixed(2);
        const line = list.map((one, n) => `${n === 0 ? "M" : "L"}${x(n)} ${y(one)}`).join("");
        svg.querySelector(".line").setAttribute("d", line);
        svg.querySelector(".area").setAttribute("d", `${line}L${x(list.length - 1)} 40L${x(0)} 40Z`);
        const text = `${short(value)}, at most ${short(Math.max(...list))} in ${list.length} s`;
        svg.setAttribute("aria-label", text);
        put(figure.querySelector("figcaption b"), text);
    };

    const sum = (list, of) => list.reduce((total, one) => total + of(one), 0);

    // Milliseconds that an attempt took since the last look, on average; 0 where there was none.
    const before = new Map();
    const handlerTime = (figure, consumers) => {
        const now = { attempts: 0, seconds: 0 };
        for (const times of consumers.flatMap((one) => one.handler_times)) {
            now.attempts += times.attempts;
            now.seconds += times.seconds;
        }
        const last = before.get(figure);
        before.set(figure, now);
        if (!last || now.attempts <= last.attempts) return 0;
        return ((now.seconds - last.seconds) / (now.attempts - last.attempts)) * 1000;
    };

    const chart = (figure, overview) => {
        const scope = figure.closest("[data-consumer]");
        const meant = scope
            ? overview.consumers.filter((one) => one.consumer === scope.dataset.consumer)
            : overview.consumers;
        switch (figure.dataset.chart) {
            case "lag": return draw(figure, sum(meant, (one) => one.lag.events));
            case "rate": return draw(figure, sum(meant, (one) => one.rate || 0));
            case "handler_time": return draw(figure, handlerTime(figure, meant));
            case "in_flight": return draw(figure, sum(meant, (one) => (one.parallel ? one.parallel.in_flight : 0)));
            case "executors": {
                const here = overview.executors.filter((one) => one.here);
                return here.length > 0 && draw(figure, sum(here, (one) => one.in_flight));
            }
        }
    };

    const show = (overview) => {
        const consumers = new Map(overview.consumers.map((one) => [one.consumer, one]));
        for (const root of document.querySelectorAll("tr[data-consumer], dl[data-consumer]")) {
            const consumer = consumers.get(root.dataset.consumer);
            if (consumer) showConsumer(root, consumer);
        }
        const executors = new Map(overview.executors.map((one) => [`${one.instance} ${one.name}`, one]));
        for (const root of document.querySelectorAll("tr[data-executor]")) {
            const executor = executors.get(root.dataset.executor);
            if (!executor) continue;
            for (const name of ["in_flight", "peak", "admitted", "rejected", "completed"]) {
                put(field(root, name), String(executor[name]));
            }
        }
        const trouble = (one) => ["standing", "unowned", "paused"].includes(one.status) || one.error_streak > 0;
        const totals = {
            standing: overview.consumers.filter(trouble).length,
            dead: sum(overview.consumers, (one) => one.dead_letters),
            head: overview.head || "–",
        };
        for (const total of document.querySelectorAll("[data-total]")) {
            put(total, String(totals[total.dataset.total]));
        }
        for (const figure of document.querySelectorAll("figure[data-chart]")) chart(figure, overview);
    };

    const events = new EventSource(source);
    events.addEventListener("overview", (event) => {
        say("live");
        show(JSON.parse(event.data));
    });
    events.addEventListener("fault", (event) => say(event.data));
    events.addEventListener("error", () => say("not live: waiting for an instance to answer"));
    // A page that is left gives its place back at once.
    window.addEventListener("pagehide", () => events.close());
})();
