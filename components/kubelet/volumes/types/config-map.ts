import { Buffer } from "node:buffer"
import { DEFAULT_MODE, type Contents, type KeySource } from "../contents.ts"
import { keyFiles } from "../../runtime/payload.ts"

/** Returns the keys of a ConfigMap as files. Source: pkg/volume/configmap. */
export const configMapContents = (
  { name, items, optional = false }: KeySource,
  defaultMode = DEFAULT_MODE,
): Contents => ({
  references: [{ kind: "ConfigMap", name }],
  fromPod: false,
  hasToken: false,
  async files(sources) {
    const object = await sources.configMap(name)
    if (object === undefined && !optional) throw new Error(`configmap "${name}" not found`)
    const { data = {}, binaryData = {} } = object ?? {}
    const decoded = Object.entries(binaryData).map(([key, value]) => [key, Buffer.from(value, "base64")] as const)
    return keyFiles({
      data: new Map<string, string | Uint8Array>([...Object.entries(data), ...decoded]),
      items,
      defaultMode,
      optional,
      budget: sources.budget,
      missing: (key) => `configmap references non-existent config key: ${key}`,
    })
  },
})
