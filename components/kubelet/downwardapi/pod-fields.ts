import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"

/** Fields of a pod that are known only once it runs. */
export interface PodAddresses {
  readonly podIps: readonly string[]
  readonly hostIps: readonly string[]
}

/**
 * Returns a field of the pod as text, for variables and files of the downward API. Source: podFieldSelectorRuntimeValue
 * in pkg/kubelet/kubelet_pods.go. @throws Error for an unsupported field
 */
export function podField(pod: Pod, fieldPath: string, { podIps, hostIps }: PodAddresses): string {
  switch (fieldPath) {
    case "spec.nodeName":
    case "spec.host":
      return pod.spec.nodeName ?? ""
    case "spec.serviceAccountName":
      return pod.spec.serviceAccountName ?? ""
    case "status.hostIP":
      return hostIps[0] ?? ""
    case "status.hostIPs":
      return hostIps.join(",")
    case "status.podIP":
      return podIps[0] ?? ""
    case "status.podIPs":
      return podIps.join(",")
    default:
      return metadataField(pod, fieldPath)
  }
}

/** Source: pkg/fieldpath/fieldpath.go ExtractFieldPathAsString. */
function metadataField({ metadata }: Pod, fieldPath: string): string {
  const subscript = /^(metadata\.(?:annotations|labels))\['(.*)'\]$/s.exec(fieldPath)
  if (subscript !== null) {
    const [, path, key] = subscript
    return (path === "metadata.labels" ? metadata.labels : metadata.annotations)?.[key!] ?? ""
  }
  switch (fieldPath) {
    case "metadata.name":
      return metadata.name ?? ""
    case "metadata.namespace":
      return metadata.namespace ?? ""
    case "metadata.uid":
      return metadata.uid ?? ""
    case "metadata.labels":
      return formatMap(metadata.labels ?? {})
    case "metadata.annotations":
      return formatMap(metadata.annotations ?? {})
    default:
      throw new Error(`unsupported fieldPath: ${fieldPath}`)
  }
}

/**
 * Formats a map as lines of `key="value"`, sorted by key, the value quoted as in Go. Source: pkg/fieldpath/fieldpath.go
 * FormatMap.
 */
export const formatMap = (map: Readonly<Record<string, string>>): string =>
  Object.keys(map)
    .sort()
    .map((key) => `${key}=${goQuoted(map[key]!)}`)
    .join("\n")

const NAMED: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
}

/** Formats a text as a Go string literal. Source: strconv.Quote. */
const goQuoted = (text: string): string => `"${text.replace(/[\\"]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, escaped)}"`

function escaped(char: string): string {
  const named = NAMED[char]
  if (named !== undefined) return named
  const code = char.codePointAt(0)!
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`
}
