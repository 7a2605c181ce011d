import type { DownwardAPIVolumeFile } from "../../../../pkg/api/core/v1/volume/volume-projected.ts"
import { podField } from "../../downwardapi/pod-fields.ts"
import { resourceField } from "../../downwardapi/resource-fields.ts"
import { DEFAULT_MODE, type Contents } from "../contents.ts"
import type { PayloadFile } from "../payload.ts"

/** Returns fields of the pod as files. Source: pkg/volume/downwardapi. */
export const downwardApiContents = (
  items: readonly DownwardAPIVolumeFile[] = [],
  defaultMode = DEFAULT_MODE,
): Contents => ({
  references: [],
  fromPod: true,
  hasToken: false,
  async files({ pod, hostIps, node }) {
    const files = new Map<string, PayloadFile>()
    for (const { path, mode = defaultMode, fieldRef, resourceFieldRef } of items) {
      if (fieldRef !== undefined)
        files.set(path, { mode, data: podField(pod, fieldRef.fieldPath, { podIps: [], hostIps }) })
      else if (resourceFieldRef !== undefined)
        files.set(path, { mode, data: resourceField(pod, resourceFieldRef, await node()) })
    }
    return files
  },
})
