import type { Event } from "../../../api/core/v1/event/event.ts"
import { interval } from "../../describe/events.ts"
import type { Output } from "../../printers/output.ts"
import type { ResourcePrinter } from "../../printers/printer.ts"
import { isList, type Unstructured } from "../../rest/json.ts"

/** Prints events as a table, with one header for all that it prints. Source: kubectl pkg/cmd/events. */
export function eventPrinter(options: {
  readonly noHeaders: boolean
  readonly withNamespace: boolean
  now(): number
}): ResourcePrinter {
  const { noHeaders, withNamespace, now } = options
  let headers = !noHeaders
  return {
    async print(object: Unstructured, out: Output): Promise<void> {
      if (headers) await out.write(`${withNamespace ? "NAMESPACE\t" : ""}LAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n`)
      headers = false
      for (const item of isList(object) ? object.items : [object]) {
        const event = item as unknown as Event
        const { type = "", reason = "", message = "", metadata, involvedObject } = event
        const subject = `${escaped(involvedObject.kind ?? "")}/${escaped(involvedObject.name ?? "")}`
        const cells = [interval(event, now()), escaped(type), escaped(reason), subject, escaped(message.trim())]
        await out.write(`${[...(withNamespace ? [metadata.namespace ?? ""] : []), ...cells].join("\t")}\n`)
      }
    },
  }
}

/** Characters that would control the terminal are shown. */
const escaped = (text: string): string => text.replaceAll("\x1b", "^[").replaceAll("\r", "\\r")
