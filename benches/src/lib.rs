//! Benchmarks, and the baseline that they are compared with. They come with a later release:
//! the core's cost per command against the number of users and rooms, the simulator's steps per
//! second, and, once there is one, the server's latency and throughput under an open loop.
