import type { Probe } from "../../api/core/v1/container/probe.ts"

/** Returns a probe in one line. Source: DescribeProbe. */
export function probeText(probe: Probe): string {
  const { initialDelaySeconds, timeoutSeconds, periodSeconds, successThreshold, failureThreshold } = probe
  const times = `delay=${initialDelaySeconds ?? 0}s timeout=${timeoutSeconds ?? 0}s period=${periodSeconds ?? 0}s #success=${successThreshold ?? 0} #failure=${failureThreshold ?? 0}`
  const { exec, httpGet, tcpSocket, grpc } = probe
  if (exec !== undefined) return `exec [${(exec.command ?? []).join(" ")}] ${times}`
  if (httpGet !== undefined) {
    const { scheme = "", host = "", port, path = "" } = httpGet
    const url = `//${hostAndPort(host, port)}${pathOf(path)}`
    return `http-get ${scheme === "" ? "" : `${scheme.toLowerCase()}:`}${url} ${times}`
  }
  if (tcpSocket !== undefined) return `tcp-socket ${tcpSocket.host ?? ""}:${tcpSocket.port} ${times}`
  if (grpc !== undefined) return `grpc <pod>:${grpc.port} ${grpc.service ?? ""} ${times}`
  return `unknown ${times}`
}

/** Returns an address of a port, with an IPv6 address in brackets. Source: Go net.JoinHostPort. */
export const hostAndPort = (host: string, port: string | number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

/** Returns the path of a URL, escaped. Source: Go net/url shouldEscape. */
function pathOf(path: string): string {
  if (path === "") return ""
  const escaped = path.replaceAll(/[^A-Za-z0-9\-_.~$&+,/:;=@]/gu, (char) =>
    encodeURIComponent(char).replace(/^[!'()*]$/, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`),
  )
  return escaped.startsWith("/") ? escaped : `/${escaped}`
}
