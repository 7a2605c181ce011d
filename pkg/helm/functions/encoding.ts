import { createHash } from "node:crypto"
import { posix } from "node:path"
import { exactValue } from "../../apimachinery/json/exact-number.ts"
import { bytesOf, textOf } from "../../go-fmt/go-bytes.ts"
import { goJson } from "../../go-fmt/go-json.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { failCall } from "../../go-template/function-error.ts"
import type { TemplateFunction } from "../../go-template/functions.ts"
import { writeYaml } from "../../yaml/write.ts"
import { parseYaml } from "../../yaml/yaml.ts"
import { tomlOf } from "./toml.ts"
import { anyOf, dict, goValues, plainValues, text, type Dict } from "./convert.ts"

/** Returns a value as YAML without the last line break. */
export const yamlOf = (value: unknown): string => writeYaml(plainValues(value)).replace(/\n$/, "")

function read(
  from: string,
  parse: (text: string) => unknown,
): { readonly value: unknown } | { readonly fault: string } {
  try {
    return { value: goValues(parse(from)) }
  } catch (err) {
    return { fault: errorMessage(err) }
  }
}
const readJson = (from: string) => read(from, (each) => JSON.parse(each, exactValue))
const readYaml = (from: string) => read(from, (each) => parseYaml(each).value)

/** Returns a map, or one that has the fault. */
function asMap(found: ReturnType<typeof read>): unknown {
  if ("fault" in found) return { Error: found.fault }
  if (found.value === null) return {}
  return typeof found.value === "object" && !Array.isArray(found.value)
    ? found.value
    : { Error: "json: cannot unmarshal into Go value of type map[string]interface {}" }
}
function asList(found: ReturnType<typeof read>): unknown {
  if ("fault" in found) return [found.fault]
  if (found.value === null) return []
  return Array.isArray(found.value) ? found.value : ["json: cannot unmarshal into Go value of type []interface {}"]
}

const digest = (algorithm: string) =>
  anyOf((value) =>
    createHash(algorithm)
      .update(bytesOf(text(value)))
      .digest("hex"),
  )

function adler32(value: string): string {
  let [a, b] = [1, 0]
  for (const byte of bytesOf(value)) {
    a = (a + byte) % 65_521
    b = (b + a) % 65_521
  }
  return String((b * 65_536 + a) >>> 0)
}

function base64Text(value: string): string {
  const plain = value.replace(/[\r\n]/g, "")
  const bad = /[^A-Za-z0-9+/=]/.exec(plain)?.index ?? (plain.length % 4 === 0 ? -1 : plain.length - (plain.length % 4))
  return bad < 0 ? textOf(Buffer.from(plain, "base64")) : `illegal base64 data at input byte ${bad}`
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
function base32(value: string): string {
  let [bits, out] = ["", ""]
  for (const byte of bytesOf(value)) bits += byte.toString(2).padStart(8, "0")
  for (let i = 0; i < bits.length; i += 5) out += BASE32[Number.parseInt(bits.slice(i, i + 5).padEnd(5, "0"), 2)]
  return out.padEnd(Math.ceil(out.length / 8) * 8, "=")
}
function base32Text(value: string): string {
  let bits = ""
  for (const sign of value.replace(/[=\r\n]/g, "")) {
    const at = BASE32.indexOf(sign)
    if (at < 0) return `illegal base32 data at input byte ${value.indexOf(sign)}`
    bits += at.toString(2).padStart(5, "0")
  }
  return textOf(Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2)))
}

const jsonOf = (value: unknown, indent = ""): string => goJson(plainValues(value), { indent })

function urlParts(value: string): Dict {
  const [, scheme = "", authority, path = "", query = "", fragment = ""] =
    /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(value) ?? []
  const [, userinfo = "", host = ""] = /^(?:(.*)@)?(.*)$/s.exec(authority ?? "") ?? []
  const isOpaque = authority === undefined && scheme !== "" && !path.startsWith("/")
  return {
    scheme,
    host,
    hostname: host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1"),
    path: isOpaque ? "" : decodeURIComponent(path),
    query,
    opaque: isOpaque ? path : "",
    fragment,
    userinfo,
  }
}

function urlOf(parts: Dict): string {
  const part = (name: string) => (Object.hasOwn(parts, name) ? text(parts[name]) : "")
  const [scheme, host, path, query, fragment, userinfo] = [
    "scheme",
    "host",
    "path",
    "query",
    "fragment",
    "userinfo",
  ].map(part)
  const authority = host === "" && userinfo === "" ? "" : `//${userinfo === "" ? "" : `${userinfo}@`}${host}`
  const rest =
    part("opaque") === ""
      ? `${authority}${path !== "" && !path!.startsWith("/") && host !== "" ? "/" : ""}${path}`
      : part("opaque")
  const [before, asked, at] = [
    ["", scheme, ":"],
    ["?", query, ""],
    ["#", fragment, ""],
  ].map(([start, value, end]) => (value === "" ? "" : `${start}${value}${end}`))
  return `${before}${rest}${asked}${at}`
}

const toYaml = anyOf((value) => yamlOf(value))
const toJson = anyOf((value) => jsonOf(value))
const toPrettyJson = anyOf((value) => jsonOf(value, "  "))
const toRawJson = anyOf((value) =>
  jsonOf(value).replace(/\\u(003c|003e|0026|2028|2029)/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  ),
)
const fromAnyJson = (value: unknown) => {
  const found = readJson(text(value))
  return "fault" in found ? failCall(found.fault) : found.value
}

/** Functions that read and write other forms. Source of names and rules: Masterminds/sprig, helm pkg/engine/funcs.go. */
export const ENCODING_FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  toYaml,
  mustToYaml: toYaml,
  toYamlPretty: toYaml,
  toToml: anyOf((value) => tomlOf(value)),
  mustToToml: anyOf((value) => tomlOf(value)),
  toJson,
  mustToJson: toJson,
  toPrettyJson,
  mustToPrettyJson: toPrettyJson,
  toRawJson,
  mustToRawJson: toRawJson,
  fromYaml: anyOf((value) => asMap(readYaml(text(value)))),
  fromYamlArray: anyOf((value) => asList(readYaml(text(value)))),
  fromJson: anyOf((value) => asMap(readJson(text(value)))),
  fromJsonArray: anyOf((value) => asList(readJson(text(value)))),
  mustFromJson: anyOf(fromAnyJson),
  b64enc: anyOf((value) => Buffer.from(bytesOf(text(value))).toString("base64")),
  b64dec: anyOf((value) => base64Text(text(value))),
  b32enc: anyOf((value) => base32(text(value))),
  b32dec: anyOf((value) => base32Text(text(value))),
  sha1sum: digest("sha1"),
  sha256sum: digest("sha256"),
  sha512sum: digest("sha512"),
  adler32sum: anyOf((value) => adler32(text(value))),
  base: anyOf((value) => (text(value) === "" ? "." : posix.basename(text(value)) || "/")),
  dir: anyOf((value) => posix.dirname(text(value))),
  clean: anyOf((value) => posix.normalize(text(value)).replace(/(.)\/$/, "$1")),
  ext: anyOf((value) => /\.[^./]*$/.exec(text(value))?.[0] ?? ""),
  isAbs: anyOf((value) => text(value).startsWith("/")),
  osBase: anyOf((value) => (text(value) === "" ? "." : posix.basename(text(value)) || "/")),
  osDir: anyOf((value) => posix.dirname(text(value))),
  osClean: anyOf((value) => posix.normalize(text(value)).replace(/(.)\/$/, "$1")),
  osExt: anyOf((value) => /\.[^./]*$/.exec(text(value))?.[0] ?? ""),
  osIsAbs: anyOf((value) => text(value).startsWith("/")),
  urlParse: anyOf((value) => urlParts(text(value))),
  urlJoin: anyOf((parts) => urlOf(dict(parts))),
}
