import { createHash } from "node:crypto"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { invalid } from "../../../pkg/apimachinery/errors.ts"
import { KUBERNETES_YAML, loadYaml, MAX_ALIASES } from "../../../pkg/apimachinery/json/yaml.ts"
import { validateObject } from "../../../pkg/apimachinery/validation/validate.ts"
import { apiReferenceIn } from "../../../pkg/pods/api-references.ts"
import { CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE } from "./labels.ts"

export interface ManifestFile {
  readonly path: string
  readonly text: string
}

/**
 * Returns the pods of a manifest as they run on the node; all of them or none. Source: pkg/kubelet/config/common.go
 * tryDecodeSinglePod. Differs from upstream: a file may have several documents.
 * @param seen when the file was read, as text
 * @throws Error for text that is not YAML, with line and column; for an object that is no valid Pod, or one that needs
 * the API, which may not be there when it starts
 */
export function staticPodsIn({ path, text }: ManifestFile, nodeName: string, seen: string): readonly Pod[] {
  const documents = loadYaml().parseAllDocuments(text, { ...KUBERNETES_YAML, prettyErrors: true })
  if (!Array.isArray(documents)) return []
  return documents.flatMap((document) => {
    const [fault] = document.errors
    if (fault !== undefined) throw new Error(faultIn(fault))
    const json: unknown = document.toJS({ maxAliasCount: MAX_ALIASES })
    return json === null || json === undefined ? [] : [staticPod(json, path, nodeName, seen)]
  })
}

/** The message ends with the place and shows the line, which a log does not need. */
function faultIn({ message, linePos }: { readonly message: string; readonly linePos?: readonly Place[] }): string {
  const why = message.split("\n")[0]!.replace(/ at line \d+, column \d+:?$/, "")
  const place = linePos?.[0]
  return place === undefined ? `not YAML: ${why}` : `not YAML: line ${place.line}, column ${place.col}: ${why}`
}

interface Place {
  readonly line: number
  readonly col: number
}

/**
 * Returns the pod of a manifest as it runs here: its name ends with the name of the node, its uid is a hash of the
 * node, the file and the manifest.
 */
function staticPod(json: unknown, path: string, nodeName: string, seen: string): Pod {
  const { object } = decodeObject(Pod, json)
  const uid = createHash("md5")
    .update(`host:${nodeName}file:${path}${JSON.stringify(json)}`)
    .digest("hex")
  const { name = "", namespace, annotations, labels } = object.metadata
  if (name === "") throw new Error("invalid pod: name is needed for the pod")
  const pod: Pod = {
    ...object,
    metadata: {
      ...(labels === undefined ? {} : { labels }),
      name: `${name}-${nodeName}`,
      namespace: namespace ?? "default",
      uid,
      annotations: { ...annotations, [CONFIG_HASH]: uid, [CONFIG_SOURCE]: "file", [CONFIG_SEEN]: seen },
    },
    spec: {
      ...object.spec,
      nodeName,
      tolerations: [...(object.spec.tolerations ?? []), { operator: "Exists", effect: "NoExecute" }],
    },
    status: { phase: "Pending" },
  }
  const causes = validateObject(Pod, pod)
  if (causes.length > 0) throw invalid(Pod, name, causes)
  const reference = apiReferenceIn(pod)
  if (reference !== undefined) throw new Error(`static pods may not reference ${reference}`)
  return pod
}
