import { createHash } from "node:crypto"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { invalid } from "../../../pkg/apimachinery/errors.ts"
import { validateObject } from "../../../pkg/apimachinery/validation/validate.ts"
import { apiReferenceIn } from "../../../pkg/pods/api-references.ts"
import { readManifest } from "../../../pkg/yaml/manifest.ts"
import { CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE } from "../model/labels.ts"

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
  return readManifest(text).flatMap(({ value }) => (value === null ? [] : [staticPod(value, path, nodeName, seen)]))
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
