import type { HTTPGetAction } from "../../../pkg/api/core/v1/container/probe.ts"
import { KUBERNETES_MINOR } from "../../../pkg/version/version.ts"
import type { HttpProbeRequest } from "../runtime/runtime.ts"
import type { AnyContainer } from "./containers.ts"
import { portOf } from "./ports.ts"

export interface HttpGet {
  readonly action: HTTPGetAction
  readonly container: AnyContainer
  /** Where the request goes if the action names no host. */
  readonly podIp: string
  /** What the client is called, which servers may look for: `kube-probe` or `kube-lifecycle`. */
  readonly purpose: "probe" | "lifecycle"
  readonly timeoutMs: number
}

/**
 * Returns the request of a probe or hook. Source: pkg/probe/http/request.go NewRequestForHTTPGetAction.
 * @throws Error for a port that the container does not have
 */
export function httpGetRequest({ action, container, podIp, purpose, timeoutMs }: HttpGet): HttpProbeRequest {
  const { host, scheme, path, port, httpHeaders = [] } = action
  const agent = `kube-${purpose}/${KUBERNETES_MINOR.major}.${KUBERNETES_MINOR.minor}`
  const values = (name: string) => httpHeaders.filter((each) => each.name.toLowerCase() === name)
  const unlessSet = (name: string, value: string) => (values(name.toLowerCase()).length === 0 ? [{ name, value }] : [])
  // An empty value takes the header away.
  const isWanted = (name: string) =>
    (name !== "user-agent" && name !== "accept") || (values(name)[0]?.value ?? "") !== ""
  return {
    scheme,
    host: host ? host : podIp,
    port: portOf(port, container),
    path: requestPath(path),
    headers: [
      ...unlessSet("User-Agent", agent),
      ...unlessSet("Accept", "*/*"),
      ...httpHeaders.filter(({ name }) => isWanted(name.toLowerCase())),
    ],
    timeoutMs,
  }
}

/**
 * Returns the path and query of a request line, from what a user wrote as the path: with a slash in front, without a
 * fragment or another host, and with other characters than those of URLs escaped. A path with a percent sign that
 * escapes nothing is taken as it is. Source: pkg/probe/http/request.go formatURL, Go's net/url.
 */
export function requestPath(text: string): string {
  const hash = text.indexOf("#")
  const url = hash === -1 ? text : text.slice(0, hash)
  const mark = url.indexOf("?")
  const [path, query] = mark === -1 ? [url, ""] : [url.slice(0, mark), url.slice(mark)]
  if (/%(?![0-9A-Fa-f]{2})/.test(path)) return withSlash(escaped(text, /[^A-Za-z0-9\-_.~$&+,/:;=@]/gu))
  const local = path.replace(/^(?:[A-Za-z][A-Za-z0-9+.-]*:)?\/\/[^/]*/, "")
  return withSlash(escaped(local, /[^A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]%]/gu)) + escaped(query, /[^\x21-\x7e]/gu)
}

const withSlash = (path: string): string => (path.startsWith("/") ? path : `/${path}`)

const escaped = (text: string, unsafe: RegExp): string =>
  text.replaceAll(unsafe, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  )
