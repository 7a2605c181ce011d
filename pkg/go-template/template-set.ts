import type { ExecutionBounds, ExecutionContext, TemplateSource } from "./evaluation.ts"
import { Execution } from "./execution.ts"
import { isGoFunction } from "./go-template.ts"
import { BUILTINS, type TemplateFunction } from "./functions.ts"
import type { Node } from "./node.ts"
import { isEmpty, parseTemplate } from "./parser.ts"
import { TemplateError } from "./template-error.ts"

/**
 * Templates of several texts that can call each other, as those that Go associates with one another. What a later text
 * defines takes the place of what an earlier one has defined with the same name. Source: Go text/template/template.go.
 */
export class TemplateSet {
  readonly functions: ReadonlyMap<string, TemplateFunction>
  readonly #templates: Map<string, readonly Node[]>
  readonly #sources: Map<string, TemplateSource>
  readonly #bounds: ExecutionBounds | undefined

  constructor(functions: ReadonlyMap<string, TemplateFunction>, bounds?: ExecutionBounds, from?: TemplateSet) {
    this.functions = functions
    this.#bounds = bounds
    this.#templates = new Map(from === undefined ? [] : from.#templates)
    this.#sources = new Map(from === undefined ? [] : from.#sources)
  }

  /** Adds the template of a text, and those that it defines. @throws TemplateError */
  parse(name: string, text: string): void {
    const source = { name, text }
    const isFunction = (each: string) => this.functions.has(each) || isGoFunction(each)
    for (const [defined, list] of parseTemplate(name, text, isFunction)) {
      if (isEmpty(list) && this.#templates.has(defined)) continue
      this.#templates.set(defined, list)
      this.#sources.set(defined, source)
    }
  }

  /** Returns a copy with other functions, which can get templates of its own. */
  copy(functions: ReadonlyMap<string, TemplateFunction>): TemplateSet {
    return new TemplateSet(functions, this.#bounds, this)
  }

  /** Returns what a template writes; nil for a missing key. @throws TemplateError */
  execute(name: string, data: unknown): string {
    const list = this.#templates.get(name)
    if (list === undefined)
      throw new TemplateError(`template: no template ${JSON.stringify(name)} associated with template "gotpl"`)
    const parts: string[] = []
    let length = 0
    const context: ExecutionContext = {
      templates: this.#templates,
      sourceOf: (template) => this.#sources.get(template) ?? { name: template, text: "" },
      functionOf: (each) => this.functions.get(each) ?? BUILTINS.get(each),
      isBuiltin: (each) => !this.functions.has(each) && isGoFunction(each),
      missingKey: "zero",
      write: (text) => {
        this.#bounds?.writing(text.length, length)
        length += text.length
        parts.push(text)
      },
      bounds: this.#bounds,
    }
    const root = data ?? undefined
    new Execution(context, name, root).walk(root, list)
    return parts.join("")
  }
}
