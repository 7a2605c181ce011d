import { HashMap } from "../values/maps.ts"
import { BOOL, listOf, mapOf, STRING, URL_TYPE, type CelType } from "../type.ts"
import { ArrayList, CelError, OpaqueValue, type Value } from "../values/values.ts"
import { declare, member, overload, type FunctionDeclaration } from "./declare.ts"
import { hostnameOf, parseQuery, parseRequestUri, portOf, type GoUrl } from "./go-url.ts"

/** URLs. Source: apiserver pkg/cel/library/urls.go. */

export class UrlValue extends OpaqueValue {
  readonly type: CelType = URL_TYPE
  readonly url: GoUrl
  constructor(url: GoUrl) {
    super()
    this.url = url
  }
  equals(other: Value): boolean {
    return other instanceof UrlValue && other.url.text === this.url.text
  }
}

function parse(text: string): Value {
  const url = parseRequestUri(text)
  return "fault" in url
    ? new CelError(`URL parse error during conversion from string: ${url.fault}`)
    : new UrlValue(url)
}

function query({ url }: UrlValue): Value {
  const map = new HashMap()
  for (const [name, values] of parseQuery(url.query)) map.set(name, new ArrayList(values))
  return map
}

const accessor = (name: string, id: string, read: (url: GoUrl) => string): FunctionDeclaration =>
  declare(name, [member(id, [URL_TYPE], STRING, ({ url }: UrlValue) => read(url))])

export const URLS: readonly FunctionDeclaration[] = [
  declare("url", [overload("string_to_url", [STRING], URL_TYPE, parse)]),
  declare("isURL", [overload("is_url_string", [STRING], BOOL, (text: string) => !("fault" in parseRequestUri(text)))]),
  accessor("getScheme", "url_get_scheme", ({ scheme }) => scheme),
  accessor("getHost", "url_get_host", ({ host }) => host),
  accessor("getHostname", "url_get_hostname", ({ host }) => hostnameOf(host)),
  accessor("getPort", "url_get_port", ({ host }) => portOf(host)),
  accessor("getEscapedPath", "url_get_escaped_path", ({ escapedPath }) => escapedPath),
  declare("getQuery", [member("url_get_query", [URL_TYPE], mapOf(STRING, listOf(STRING)), query)]),
]
