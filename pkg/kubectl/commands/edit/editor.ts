import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import type { Environment } from "../../environment/environment.ts"
import { errorCode, goPathError } from "../../environment/files.ts"
import type { Output } from "../../printers/output.ts"

/** The variables that name the editor, the first one first. */
const VARIABLES = ["KUBE_EDITOR", "EDITOR"]

/** A file that has been edited. */
export interface EditedFile {
  readonly path: string
  readonly text: string
}

/** The user's editor. Source: kubectl pkg/cmd/util/editor/editor.go. */
export class Editor {
  readonly #environment: Environment
  readonly #out: Output
  readonly #errOut: Output
  readonly #words: readonly string[]
  /** Whether a shell reads the last word. */
  readonly #isShell: boolean

  constructor({ environment, out, errOut }: { environment: Environment; out: Output; errOut: Output }) {
    this.#environment = environment
    this.#out = out
    this.#errOut = errOut
    const { variables } = environment
    const editor = VARIABLES.map((name) => variables[name] ?? "").find((value) => value !== "") ?? "vi"
    this.#isShell = editor.includes(" ") && /["'\\]/.test(editor)
    const shell = variables["SHELL"] ?? ""
    this.#words = this.#isShell ? [shell === "" ? "/bin/bash" : shell, "-c", editor] : editor.split(" ")
  }

  /** Writes a text to a new file, lets the user edit it, and reads it. The file stays. */
  async edit(text: string, suffix: string): Promise<EditedFile> {
    const { files, name } = this.#environment
    const path = await this.#create(`${files.temporary}/${name}-edit-`, suffix, text)
    await this.#launch(path)
    try {
      return { path, text: new TextDecoder().decode(await files.read(path)) }
    } catch (err) {
      throw goPathError("open", path, err)
    }
  }

  async #create(prefix: string, suffix: string, text: string): Promise<string> {
    const { files, random } = this.#environment
    for (;;) {
      const path = `${prefix}${Math.floor(random.next() * 2 ** 32)}${suffix}`
      try {
        // Only its owner may read it, before there is something to read.
        await files.createExclusively(path, "")
        await files.chmod(path, 0o600)
        await files.write(path, text, { mode: 0o600 })
        return path
      } catch (err) {
        if (errorCode(err) !== "EEXIST") throw goPathError("open", path, err)
      }
    }
  }

  async #launch(path: string): Promise<void> {
    const [command = "", ...args] = this.#isShell
      ? [...this.#words.slice(0, -1), `${this.#words.at(-1)!} ${goQuoted(path)}`]
      : [...this.#words, path]
    const problem = () => new Error(`there was a problem with the editor ${goQuoted(this.#words.join(" "))}`)
    let result
    try {
      result = await this.#environment.programs.run({ command, args, stdin: "inherit", output: "inherit" })
    } catch (err) {
      if (errorCode(err) === "ENOENT" && !command.includes("/"))
        throw new Error(`unable to launch the editor ${goQuoted(this.#words.join(" "))}`, { cause: err })
      throw problem()
    }
    await this.#out.write(result.stdout)
    await this.#errOut.write(result.stderr)
    if (result.code !== 0) throw problem()
  }
}
