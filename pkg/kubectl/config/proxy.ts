import type { Environment } from "../environment/environment.ts"

/**
 * The proxy that the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for an address; undefined without one. Source:
 * Go golang.org/x/net/http/httpproxy.
 */
export function proxyFromVariables(url: URL, { variables }: Pick<Environment, "variables">): URL | undefined {
  const get = (name: string) => variables[name] ?? variables[name.toLowerCase()] ?? ""
  const text = get(url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY")
  if (text === "" || !isProxied(url, get("NO_PROXY"))) return undefined
  const withScheme = /^[a-z0-9]+:\/\//i.test(text) ? text : `http://${text}`
  if (!URL.canParse(withScheme)) throw new Error(`invalid proxy address ${JSON.stringify(text)}`)
  return new URL(withScheme)
}

function isProxied(url: URL, exceptions: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "").toLowerCase()
  if (host === "localhost" || host === "::1" || host.startsWith("127.")) return false
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port
  return !exceptions
    .split(",")
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== "")
    .some((exception) => {
      if (exception === "*") return true
      if (exception.includes("/")) return inNetwork(host, exception)
      const [name = "", onlyPort] = /^(.*):(\d+)$/.exec(exception)?.slice(1) ?? [exception]
      if (onlyPort !== undefined && onlyPort !== port) return false
      const bare = name.replace(/^\*?\./, "")
      return name.startsWith(".") || name.startsWith("*.")
        ? host.endsWith(`.${bare}`)
        : host === bare || host.endsWith(`.${bare}`)
    })
}

/** Whether an address of IPv4 is in a network such as `10.0.0.0/8`. */
function inNetwork(host: string, network: string): boolean {
  const number = (text: string): number | undefined => {
    const parts = text.split(".").map(Number)
    return parts.length === 4 && parts.every((part) => Number.isInteger(part) && part >= 0 && part <= 255)
      ? parts.reduce((sum, part) => sum * 256 + part, 0)
      : undefined
  }
  const [base = "", bits = ""] = network.split("/")
  const [address, first] = [number(host), number(base)]
  if (address === undefined || first === undefined) return false
  const size = 2 ** (32 - Number(bits))
  return Math.floor(address / size) === Math.floor(first / size)
}
