import { readFile, writeFile } from "node:fs/promises"

const CLOSE_WAIT = "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait"

/** How long kube-proxy of Kubernetes has the kernel keep such a connection, in seconds, unless it is told otherwise. */
export const CLOSE_WAIT_S = 3600

/**
 * Sets how long the kernel keeps a translated TCP connection that one side has closed while the other still sends:
 * `seconds`, in a whole number; 0 leaves the kernel's own time. That is 60 s, after which the rest of a slow answer
 * from a Service is lost. Source: pkg/proxy/conntrack/sysctls.go, `--conntrack-tcp-timeout-close-wait`.
 * @throws Error when the setting cannot be read or written, as in a container that may not, or without connection
 * tracking
 */
export async function keepCloseWait(seconds: number, file = CLOSE_WAIT): Promise<void> {
  if (seconds === 0) return
  const wanted = String(seconds)
  if ((await readFile(file, "utf8")).trim() === wanted) return
  await writeFile(file, wanted)
}
