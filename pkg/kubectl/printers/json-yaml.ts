import { writeYaml } from "../../yaml/write.ts"
import { goJson } from "../rest/json.ts"
import { checkKind, isTyped, isWatchEvent, type ResourcePrinter } from "./printer.ts"

/** `-o json`. */
export const jsonPrinter: ResourcePrinter = {
  print(object, out) {
    if (isWatchEvent(object))
      return out.write(`{"type":${JSON.stringify(object.type)},"object":${goJson(object.object)}}\n`)
    checkKind(object)
    return out.write(`${goJson(object, { indent: "    ", sorted: !isTyped(object) })}\n`)
  },
}

/** `-o yaml`: a line of dashes stands between the objects. */
export function yamlPrinter(): ResourcePrinter {
  let printed = 0
  return {
    async print(object, out) {
      if (printed++ > 0) await out.write("---\n")
      if (!isWatchEvent(object)) checkKind(object)
      await out.write(writeYaml(object))
    },
  }
}
