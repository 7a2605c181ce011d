import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { parseYaml } from "../../../yaml/yaml.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { SilentExit } from "../../errors/errors.ts"
import { isInvalid, isNotFound } from "../../errors/status-error.ts"
import { JSON_YAML_FORMATS, jsonYamlPrinter, noPrinter } from "../../printers/print-flags.ts"
import type { Info } from "../../resource/info.ts"
import { requireNamespace } from "../../resource/visitor.ts"
import { goJson, type ObjectMeta, type Unstructured } from "../../rest/json.ts"
import { sendEdited, type EditParts } from "./edit-modes.ts"
import { hasLines, headerText, withoutCommentLines, withoutComments, type Reason } from "./edited-text.ts"
import { Editor, type EditedFile } from "./editor.ts"

type ManagedFields = ObjectMeta["managedFields"]

/**
 * Lets the user edit objects in one file until what comes of it is accepted, or nothing more is changed.
 * Source: kubectl pkg/cmd/util/editor/editoptions.go.
 */
export class EditSession {
  readonly #parts: EditParts
  readonly #editor: Editor
  readonly #infos: readonly Info[]
  readonly #managedFields = new Map<string, ManagedFields>()
  /** The file of the last round; what is wrong with it, and what the server did not take. */
  #file = ""
  #reasons: Reason[] = []
  #invalid = 0
  #notFound = 0
  #retryable = 0

  constructor(parts: EditParts, infos: readonly Info[]) {
    this.#parts = parts
    this.#editor = new Editor(parts)
    this.#infos = infos
  }

  async run(): Promise<void> {
    const original = await this.#shown()
    let edited: EditedFile | undefined
    for (let isAgain = false; ; isAgain = true) {
      const before: string = edited?.text ?? ""
      const isFailed = isAgain && this.#reasons.length > 0
      const text = `${this.#header()}${isFailed ? withoutCommentLines(before) : original}`
      try {
        edited = await this.#editor.edit(text, this.#parts.output.toLowerCase() === "json" ? ".json" : ".yaml")
      } catch (err) {
        throw await this.#kept(err, this.#file)
      }
      if (isFailed && withoutComments(before) === withoutComments(edited.text))
        throw await this.#kept(new Error("Edit cancelled, no valid changes were saved."), edited.path)
      if (this.#file !== "") await this.#parts.environment.files.remove(this.#file)
      if (await this.#accepts(edited, original)) return
    }
  }

  /** The objects as a text, and remembers their managed fields, which are not edited. */
  async #shown(): Promise<string> {
    const { output, windowsLineEndings } = this.#parts
    const objects = this.#infos.map(({ loaded }) => {
      const { managedFields, ...metadata } = loaded.metadata ?? {}
      this.#managedFields.set(metadata.uid ?? "", managedFields)
      return { ...loaded, metadata } as Unstructured
    })
    const [first] = objects
    const object: Unstructured =
      objects.length === 1 ? first! : { apiVersion: "v1", kind: "List", metadata: {}, items: objects }
    const printer = jsonYamlPrinter(output === "" ? "yaml" : output, { "show-managed-fields": false })
    if (printer === undefined) throw noPrinter(output, JSON_YAML_FORMATS)
    let text = ""
    await printer.print(object, {
      write: (part) => {
        text += typeof part === "string" ? part : new TextDecoder().decode(part)
        return Promise.resolve()
      },
    })
    return windowsLineEndings ? text.replaceAll("\n", "\r\n") : text
  }

  #header(): string {
    const { output, mode, windowsLineEndings } = this.#parts
    if (output === "json") return ""
    const text = headerText(this.#reasons, { lastApplied: mode === "last-applied" })
    return windowsLineEndings ? text.replaceAll("\n", "\r\n") : text
  }

  /** Whether nothing more is to be done with the file. @throws Error where an edit is of no use */
  async #accepts({ path, text }: EditedFile, original: string): Promise<boolean> {
    const { environment, errOut, factory } = this.#parts
    this.#reasons = []
    this.#invalid = this.#notFound = this.#retryable = 0
    const failure = await this.#validationFailure(text)
    this.#file = path
    if (failure !== undefined) {
      this.#reasons.push({
        head: `${resourceText(this.#infos[0]!)} ${goQuoted(this.#infos[0]!.name)} was not valid`,
        details: [`<nil>: Invalid value: "The edited file failed validation": ${failure}`],
      })
      await errOut.write(`error: ${resourceText(this.#infos[0]!)} ${goQuoted(this.#infos[0]!.name)} is invalid\n`)
      return false
    }
    const cancelled =
      withoutComments(original) === withoutComments(text)
        ? "no changes made."
        : hasLines(text)
          ? undefined
          : "saved file was empty."
    if (cancelled !== undefined) {
      await environment.files.remove(path)
      await errOut.write(`Edit cancelled, ${cancelled}\n`)
      return true
    }
    let infos: readonly Info[]
    try {
      const result = await factory.build({
        stream: { text, source: "edited-file" },
        continueOnError: true,
        flatten: true,
      })
      infos = await result.infos()
    } catch (err) {
      this.#reasons.push({ head: `The edited file had a syntax error: ${errorMessage(err)}`, details: [] })
      return false
    }
    try {
      await this.#send(infos)
    } catch (err) {
      throw await this.#kept(err, path)
    }
    return this.#ended(path)
  }

  /** Why the check before the request refuses a file; undefined when it does not. */
  async #validationFailure(text: string): Promise<string | undefined> {
    const validate = await this.#parts.factory.validator(this.#parts.fieldValidation)
    if (validate === undefined) return undefined
    try {
      await validate(goJson(parseYaml(withoutCommentLines(text)).value ?? null))
      return undefined
    } catch (err) {
      return errorMessage(err)
    }
  }

  async #send(infos: readonly Info[]): Promise<void> {
    const { namespace } = this.#parts
    for (const info of [...infos, ...this.#infos]) info.object = this.#withManagedFields(info.loaded)
    for (const info of infos) await requireNamespace(namespace)(info)
    for (const info of infos) info.object = this.#parts.annotate(info.loaded)
    for (const info of infos)
      await sendEdited(info, this.#infos, this.#parts, (err, refused) => this.#refused(err, refused))
  }

  #withManagedFields(object: Unstructured): Unstructured {
    const { managedFields: _, ...metadata } = object.metadata ?? {}
    const managedFields = this.#managedFields.get(metadata.uid ?? "")
    return { ...object, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } }
  }

  async #refused(err: unknown, info: Info): Promise<void> {
    const what = `${resourceText(info)} ${goQuoted(info.name)}`
    let text = `could not be patched: ${errorMessage(err)}`
    if (isInvalid(err)) {
      const causes = err.status.details?.causes ?? []
      const details = causes.map(({ field = "", message = "" }) => `${field}: ${message}`)
      this.#reasons.push({ head: `${what} was not valid`, details })
      this.#invalid++
      text = "is invalid"
    } else if (isNotFound(err)) {
      this.#notFound++
      text = "could not be found on the server"
    } else this.#retryable++
    await this.#parts.errOut.write(`error: ${what} ${text}\n`)
  }

  /** Says what becomes of a file whose objects were sent; false when it is edited again. @throws SilentExit */
  async #ended(path: string): Promise<boolean> {
    const { environment, errOut } = this.#parts
    if (this.#retryable > 0) {
      await errOut.write(`You can run \`${environment.name} replace -f ${path}\` to try this update again.\n`)
      throw new SilentExit()
    }
    if (this.#notFound > 0) {
      await errOut.write(`The edits you made on deleted resources have been saved to ${goQuoted(path)}\n`)
      throw new SilentExit()
    }
    if (this.#invalid > 0) return false
    await environment.files.remove(path)
    return true
  }

  /** Says where the user's changes are, before an error. */
  async #kept(err: unknown, path: string): Promise<unknown> {
    const { environment, errOut } = this.#parts
    if (path !== "" && (await environment.files.stat(path)) !== undefined)
      await errOut.write(`A copy of your changes has been stored to ${goQuoted(path)}\n`)
    return err
  }
}

function resourceText({ mapping: { resource } }: Info): string {
  return resource.group === "" ? resource.resource : `${resource.resource}.${resource.group}`
}
