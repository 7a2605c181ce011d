import { Buffer } from "node:buffer"
import type { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { ContentSources } from "./contents.ts"

/** Returns a function that returns the values of Secrets by key, for which it reads and decodes each Secret once. */
export function decodedSecrets(read: (name: string) => Promise<Secret | undefined>): ContentSources["secret"] {
  const known = new Map<string, ReturnType<ContentSources["secret"]>>()
  const decoded = async (name: string) => {
    const secret = await read(name)
    if (secret === undefined) return undefined
    return new Map(Object.entries(secret.data ?? {}).map(([key, text]) => [key, Buffer.from(text, "base64")]))
  }
  return (name) => {
    const values = known.get(name) ?? decoded(name)
    known.set(name, values)
    return values
  }
}
