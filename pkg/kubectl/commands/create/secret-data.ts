import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { isConfigMapKey, oneProblem } from "../../../apimachinery/validation/names.ts"
import { boolFlag } from "../../command/flag.ts"
import { filled, metadataOf, type ObjectFields } from "./generator.ts"
import type { AddKey } from "./key-values.ts"
import { hashedName } from "./name-hash.ts"
import { sortedRecord } from "./sorted-record.ts"

/** What all commands that create Secrets have in common. */
export const SECRET = {
  apiVersion: "v1",
  kind: "Secret",
  resource: "secrets",
  failure: "failed to create secret",
} as const

export const appendHashFlag = () => ({
  "append-hash": boolFlag(false, "Append a hash of the secret to its name."),
})

/** The data of a Secret that is made. */
export class SecretData {
  readonly #data = new Map<string, string>()

  readonly add: AddKey = (key, value) => {
    const problem = isConfigMapKey(key)
    if (problem !== undefined)
      throw new Error(`${goQuoted(key)} is not valid key name for a Secret ${oneProblem(problem, ";")}`)
    if (this.#data.has(key)) throw new Error(`cannot add key ${key}, another key by that name already exists`)
    this.#data.set(key, Buffer.from(value).toString("base64"))
  }

  fields(parts: {
    readonly name: string
    readonly namespace: string | undefined
    readonly type: string
    readonly appendHash: boolean
  }): ObjectFields {
    const { name, namespace, type, appendHash } = parts
    const data = sortedRecord(this.#data)
    return {
      metadata: metadataOf({ name: appendHash ? hashedName(name, { kind: "Secret", type, data }) : name, namespace }),
      ...filled("data", data),
      ...filled("type", type),
    }
  }
}
