//! The priority of threads whose work no call waits for.

/// Lowers the priority of this thread, so that it works when others leave a core idle. Without this,
/// the history and the snapshots slow calls down as soon as all cores are in use.
///
/// Only Linux has a priority for each thread; elsewhere nothing changes.
pub fn lower() {
    #[cfg(target_os = "linux")]
    {
        /// The nice value, the largest. Such a thread still gets about a sixtieth of a core that
        /// others want.
        const NICE: i32 = 19;
        // The priority of a "process" is that of the thread with this id.
        let thread = rustix::thread::gettid();
        if let Err(error) = rustix::process::setpriority_process(Some(thread), NICE) {
            tracing::debug!(%error, "the priority of a background thread stays as it is");
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::getpriority_process;
    use rustix::thread::gettid;

    #[test]
    fn only_this_thread_yields() {
        let before = getpriority_process(Some(gettid())).unwrap();
        let lowered = std::thread::spawn(|| {
            super::lower();
            getpriority_process(Some(gettid())).unwrap()
        });
        assert_eq!(lowered.join().unwrap(), before.max(19));
        assert_eq!(getpriority_process(Some(gettid())).unwrap(), before);
    }
}
