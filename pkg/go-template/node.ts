import { quoted } from "../go-fmt/quote.ts"
import type { NumberConstant } from "./number-constant.ts"

/** A part of a template; `at` is its place in the text of the template. */
export type Node =
  | { readonly kind: "text"; readonly at: number; readonly text: string }
  | { readonly kind: "action"; readonly at: number; readonly pipe: PipeNode }
  | ControlNode
  | TemplateNode
  | { readonly kind: "break" | "continue"; readonly at: number }

export interface ControlNode {
  readonly kind: "if" | "range" | "with"
  readonly at: number
  readonly pipe: PipeNode
  readonly list: readonly Node[]
  readonly elseList: readonly Node[] | undefined
}

export interface TemplateNode {
  readonly kind: "template"
  readonly at: number
  readonly name: string
  readonly pipe: PipeNode | undefined
}

/** `$x, $y := first | second`. */
export interface PipeNode {
  readonly kind: "pipe"
  readonly at: number
  readonly variables: readonly string[]
  readonly isAssignment: boolean
  readonly commands: readonly CommandNode[]
}

export interface CommandNode {
  readonly kind: "command"
  readonly at: number
  readonly operands: readonly Operand[]
}

export type Operand =
  | PipeNode
  | FieldNode
  | VariableNode
  | ChainNode
  | IdentifierNode
  | { readonly kind: "dot"; readonly at: number }
  | { readonly kind: "nil"; readonly at: number }
  | { readonly kind: "bool"; readonly at: number; readonly value: boolean }
  | NumberNode
  | { readonly kind: "string"; readonly at: number; readonly source: string; readonly value: string }

/** `.a.b`. */
export interface FieldNode {
  readonly kind: "field"
  readonly at: number
  readonly names: readonly string[]
}

/** `$x.a.b`: the name of the variable with its dollar sign, and fields. */
export interface VariableNode {
  readonly kind: "variable"
  readonly at: number
  readonly name: string
  readonly names: readonly string[]
}

/** Fields of anything else: `(pipeline).a.b`. */
export interface ChainNode {
  readonly kind: "chain"
  readonly at: number
  readonly of: Operand
  readonly names: readonly string[]
}

export interface IdentifierNode {
  readonly kind: "identifier"
  readonly at: number
  readonly name: string
}

export interface NumberNode {
  readonly kind: "number"
  readonly at: number
  readonly source: string
  readonly constant: NumberConstant
}

/** Returns a part of a template as error messages show it. Source: Go text/template/parse/node.go. */
export function shownNode(node: Node | CommandNode | Operand): string {
  switch (node.kind) {
    case "text":
      return node.text
    case "action":
      return `{{${shownNode(node.pipe)}}}`
    case "if":
    case "range":
    case "with":
      return shownControl(node)
    case "template":
      return `{{template ${quoted(node.name)}${node.pipe === undefined ? "" : ` ${shownNode(node.pipe)}`}}}`
    case "break":
    case "continue":
      return `{{${node.kind}}}`
    case "pipe":
      return shownPipe(node)
    case "command":
      return node.operands
        .map((operand) => (operand.kind === "pipe" ? `(${shownNode(operand)})` : shownNode(operand)))
        .join(" ")
    case "field":
      return dotted(node.names)
    case "variable":
      return node.name + dotted(node.names)
    case "chain":
      return (node.of.kind === "pipe" ? `(${shownNode(node.of)})` : shownNode(node.of)) + dotted(node.names)
    case "identifier":
      return node.name
    case "dot":
      return "."
    case "nil":
      return "nil"
    case "bool":
      return String(node.value)
    case "number":
    case "string":
      return node.source
  }
}

const dotted = (names: readonly string[]): string => names.map((name) => `.${name}`).join("")

function shownPipe({ variables, isAssignment, commands }: PipeNode): string {
  const declared = variables.length === 0 ? "" : `${variables.join(", ")} ${isAssignment ? "=" : ":="} `
  return declared + commands.map(shownNode).join(" | ")
}

function shownControl({ kind, pipe, list, elseList }: ControlNode): string {
  const otherwise = elseList === undefined ? "" : `{{else}}${elseList.map(shownNode).join("")}`
  return `{{${kind} ${shownNode(pipe)}}}${list.map(shownNode).join("")}${otherwise}{{end}}`
}
