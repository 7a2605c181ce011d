import { DEFAULT_MODE, type Contents, type KeySource } from "../contents.ts"
import { keyFiles } from "../../runtime/payload.ts"

/** Returns the keys of a Secret as files. Source: pkg/volume/secret. */
export const secretContents = ({ name, items, optional = false }: KeySource, defaultMode = DEFAULT_MODE): Contents => ({
  references: [{ kind: "Secret", name }],
  fromPod: false,
  hasToken: false,
  async files(sources) {
    const data = await sources.secret(name)
    if (data === undefined && !optional) throw new Error(`secret "${name}" not found`)
    return keyFiles({
      data: data ?? new Map(),
      items,
      defaultMode,
      optional,
      budget: sources.budget,
      missing: (key) => `references non-existent secret key: ${key}`,
    })
  },
})
