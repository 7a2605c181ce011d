/** What a probe decides: whether a container has started, must be restarted, or gets traffic. */
export type ProbeKind = "startup" | "liveness" | "readiness"
