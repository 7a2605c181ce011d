import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { isJsonObject } from "../../apimachinery/json/json-value.ts"
import type { Environment } from "../environment/environment.ts"
import { goPathError } from "../environment/files.ts"
import type { Unstructured } from "../rest/json.ts"
import { goJson } from "../rest/json.ts"
import { download } from "./download.ts"
import { readDocuments } from "./documents.ts"
import type { ObjectMapper } from "./mapper.ts"
import type { Visitor } from "./visitor.ts"

/** Checks an object before it is sent, for `--validate`. `json` is the object as text. @throws Error */
export type ContentValidator = (json: string) => Promise<void>

/** The objects in a text. `source` names it in messages. */
export const textVisitor = (
  read: () => Promise<Uint8Array>,
  source: string,
  mapper: ObjectMapper,
  validate: ContentValidator | undefined,
): Visitor => ({
  async visit(visit, failed) {
    const text = decode(await read())
    const documents = readDocuments(text)
    for (;;) {
      let next: IteratorResult<unknown, void>
      try {
        next = documents.next()
      } catch (err) {
        throw new Error(`error parsing ${source}: ${(err as Error).message}`, { cause: err })
      }
      if (next.done === true) return
      const { value } = next
      if (value === null || value === undefined) continue
      if (validate !== undefined)
        try {
          await validate(goJson(value))
        } catch (err) {
          throw new Error(
            `error validating ${goQuoted(source)}: error validating data: ${(err as Error).message}; if you choose to ignore these errors, turn validation off with --validate=false`,
            { cause: err },
          )
        }
      let info
      try {
        if (!isJsonObject(value)) throw notAnObject(value, source)
        info = await mapper.infoForData(value as Unstructured, source)
      } catch (err) {
        if (failed === undefined) throw err
        failed(err)
        continue
      }
      await visit(info)
    }
  },
})

const notAnObject = (value: unknown, source: string): Error => {
  const type = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value
  return new Error(
    `unable to decode ${goQuoted(source)}: json: cannot unmarshal ${type} into Go value of type unstructured.detector`,
  )
}

/** Files of Windows may be UTF-16, with a mark at the beginning. */
function decode(bytes: Uint8Array): string {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes)
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes)
  return new TextDecoder().decode(bytes)
}

/** The objects in a file. */
export const fileVisitor = (
  { files }: Environment,
  path: string,
  mapper: ObjectMapper,
  validate: ContentValidator | undefined,
): Visitor =>
  textVisitor(
    async () => {
      try {
        return await files.read(path)
      } catch (err) {
        throw goPathError("open", path, err)
      }
    },
    path,
    mapper,
    validate,
  )

/** The objects at an address. Source: readHttpWithRetries. */
export const urlVisitor = (
  environment: Environment,
  url: URL,
  mapper: ObjectMapper,
  validate: ContentValidator | undefined,
): Visitor => textVisitor(() => download(environment, url), url.href, mapper, validate)
