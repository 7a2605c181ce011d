import type { Unstructured } from "../rest/json.ts"
import type { Output } from "./output.ts"

/** Prints objects. Source: cli-runtime pkg/printers/interface.go (ResourcePrinter). */
export interface ResourcePrinter {
  print(object: Unstructured, out: Output): Promise<void>
}

/** An event of a watch that is printed as an object, for `--output-watch-events`. */
export interface WatchEventObject extends Unstructured {
  readonly type: string
  object: Unstructured
}

const EVENTS = new WeakSet<object>()

export function watchEventObject(type: string, object: Unstructured): WatchEventObject {
  const event = { type, object }
  EVENTS.add(event)
  return event
}

export const isWatchEvent = (object: Unstructured): object is WatchEventObject => EVENTS.has(object)

const TYPED = new WeakSet<object>()

/**
 * Marks an object whose fields JSON has in the order in which they were written, as Go has those of a struct. Others
 * have them sorted, as Go has those of a map.
 */
export function typedObject<T extends object>(object: T): T {
  TYPED.add(object)
  return object
}

export const isTyped = (object: object): boolean => TYPED.has(object)

/** @throws Error for an object that says not what it is */
export function checkKind(object: Unstructured): void {
  if ((object.kind ?? "") === "" && (object.apiVersion ?? "") === "")
    throw new Error("missing apiVersion or kind; try GetObjectKind().SetGroupVersionKind() if you know the type")
}
