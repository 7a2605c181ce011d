import { isList, parseGroupVersion, type Unstructured } from "../rest/json.ts"
import type { Output } from "./output.ts"
import { checkKind, isWatchEvent, type ResourcePrinter } from "./printer.ts"

/** `-o name`, and the message of a command: `pod/web created`. Source: cli-runtime pkg/printers/name.go. */
export const namePrinter = ({
  operation = "",
  short = false,
}: {
  readonly operation?: string
  readonly short?: boolean
}): ResourcePrinter => {
  const print = async (object: Unstructured, out: Output): Promise<void> => {
    if (isWatchEvent(object)) return print(object.object, out)
    if (isList(object)) {
      for (const item of object.items) await print(item, out)
      return
    }
    checkKind(object)
    const { group } = parseGroupVersion(object.apiVersion ?? "")
    const kind = (object.kind ?? "").toLowerCase()
    const name = object.metadata?.name ?? ""
    const what = `${group === "" ? kind : `${kind}.${group}`}/${name === "" ? "<unknown>" : name}`
    await out.write(`${what}${short || operation === "" ? "" : ` ${operation}`}\n`)
  }
  return { print }
}
