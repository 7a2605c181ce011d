import { fromLabels, fromLabelSelector, type Labels } from "../../../../apimachinery/selectors/labels.ts"
import type { LabelSelector } from "../../../../apimachinery/meta.ts"
import type { Column, KubeObject } from "../../../../apimachinery/resource.ts"
import type { PodSpec } from "../pod/podspec.ts"

/**
 * The columns of `-o wide` with the names and images of a template's containers. Source:
 * pkg/printers/internalversion/printers.go.
 */
export const containerNames = (spec: PodSpec | undefined): string =>
  (spec?.containers ?? []).map(({ name }) => name).join(",")
export const containerImages = (spec: PodSpec | undefined): string =>
  (spec?.containers ?? []).map(({ image = "" }) => image).join(",")

/** Returns a selector as text: `<none>` when it is empty, `<error>` when it is invalid. */
export function selectorText(selector: LabelSelector | undefined): string {
  try {
    return fromLabelSelector(selector).toString() || "<none>"
  } catch {
    return "<error>"
  }
}
export const labelsText = (labels: Labels | undefined): string => fromLabels(labels).toString() || "<none>"

/** The columns that every workload shows with `-o wide`. */
export const templateColumns = <T extends KubeObject>(
  spec: (obj: T) => PodSpec | undefined,
  selector?: (obj: T) => string,
): readonly Column<T>[] => [
  {
    name: "Containers",
    type: "string",
    priority: 1,
    doc: "Names of the containers.",
    value: (obj) => containerNames(spec(obj)),
  },
  {
    name: "Images",
    type: "string",
    priority: 1,
    doc: "Images of the containers.",
    value: (obj) => containerImages(spec(obj)),
  },
  ...(selector === undefined
    ? []
    : [{ name: "Selector", type: "string", priority: 1, doc: "Selector of the pods.", value: selector } as const]),
]
