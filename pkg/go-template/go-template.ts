import type { MissingKey } from "./evaluation.ts"
import { Execution } from "./execution.ts"
import { BUILTINS, type TemplateFunction } from "./functions.ts"
import { parseTemplate, type Templates } from "./parser.ts"

const KNOWN_TO_EXECUTION: ReadonlySet<string> = new Set(["and", "or", "call"])
export const isGoFunction = (name: string): boolean => BUILTINS.has(name) || KNOWN_TO_EXECUTION.has(name)

/**
 * A template as Go's text/template has it, for values of JSON. Its output can hold bytes that are no characters
 * (`bytesOf` in pkg/go-fmt).
 */
export class GoTemplate {
  readonly #name: string
  readonly #text: string
  readonly #functions: ReadonlyMap<string, TemplateFunction>
  readonly #templates: Templates

  /** Parses a template. `name` stands in error messages. @throws TemplateError */
  constructor(name: string, text: string, functions: ReadonlyMap<string, TemplateFunction> = new Map()) {
    this.#name = name
    this.#text = text
    this.#functions = functions
    this.#templates = parseTemplate(name, text, (each) => functions.has(each) || isGoFunction(each))
  }

  /**
   * Executes the template on a value; `write` gets the output, also that before an error.
   * @throws TemplateError with Go's message
   */
  execute(data: unknown, write: (text: string) => void, missingKey: MissingKey = "default"): void {
    const context = {
      templates: this.#templates,
      sourceOf: () => ({ name: this.#name, text: this.#text }),
      functionOf: (name: string) => this.#functions.get(name) ?? BUILTINS.get(name),
      isBuiltin: (name: string) => !this.#functions.has(name) && isGoFunction(name),
      missingKey,
      write,
    }
    const root = data ?? undefined
    new Execution(context, this.#name, root).walk(root, this.#templates.get(this.#name) ?? [])
  }
}
