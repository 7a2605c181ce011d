import type { DownwardAPIVolumeFile } from "../../../../pkg/api/core/v1/volume/volume-projected.ts"
import { podField } from "../../downwardapi/pod-fields.ts"
import { resourceField } from "../../downwardapi/resource-fields.ts"
import { DEFAULT_MODE, type Contents } from "../contents.ts"
import type { PayloadFile } from "../../runtime/payload.ts"

/** Returns fields of the pod as files. Source: pkg/volume/downwardapi. */
export const downwardApiContents = (
  items: readonly DownwardAPIVolumeFile[] = [],
  defaultMode = DEFAULT_MODE,
): Contents => ({
  references: [],
  fromPod: true,
  hasToken: false,
  async files({ pod, hostIps, node, budget }) {
    const files = new Map<string, PayloadFile>()
    // A field of many files, such as all annotations, is formatted once.
    const fields = new Map<string, string>()
    const field = (fieldPath: string) => {
      const text = fields.get(fieldPath) ?? podField(pod, fieldPath, { podIps: [], hostIps })
      fields.set(fieldPath, text)
      return text
    }
    const add = (path: string, mode: number, data: string) => {
      budget.take(data)
      files.set(path, { mode, data })
    }
    for (const { path, mode = defaultMode, fieldRef, resourceFieldRef } of items) {
      if (fieldRef !== undefined) add(path, mode, field(fieldRef.fieldPath))
      else if (resourceFieldRef !== undefined) add(path, mode, resourceField(pod, resourceFieldRef, await node()))
    }
    return files
  },
})
