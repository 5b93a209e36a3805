//! What the system says of this process, where it does.

use std::fs;

/// Processor seconds so far: fields 14 and 15 of `stat`, in ticks of 10 ms.
pub(crate) fn processor_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

/// From here on the peak is counted anew.
pub(crate) fn forget_peak() {
    // Where the system does not know that, the peak is that of the whole run.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most memory since [`forget_peak`], in MiB.
pub(crate) fn peak_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1_024.0)
}
