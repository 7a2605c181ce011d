import { Buffer } from "node:buffer"
import { bytesOf, textOf } from "../../go-fmt/go-bytes.ts"
import type { LabelSelector, ObjectMeta } from "../../apimachinery/meta.ts"
import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import type { PrefixWriter } from "./prefix-writer.ts"

/** What all descriptions say of metadata and selectors. */

export type Texts = Readonly<Record<string, string>>

/** kubectl's own record of what was applied, which no description shows. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
/** Longer annotations are written below their keys and cut, in bytes. Source: maxAnnotationLen. */
export const MOST_BYTES = 140

/** Writes labels, one a line, in the order of their keys. */
export function describeLabels(w: PrefixWriter, title: string, labels: Texts | undefined): void {
  describeIndentedLabels(w, "", title, labels)
}

/** The same with spaces before the title and before each further line. */
export function describeIndentedLabels(
  w: PrefixWriter,
  indent: string,
  title: string,
  labels: Texts | undefined = {},
): void {
  w.write(0, `${indent}${title}:\t`)
  const keys = Object.keys(labels).sort()
  if (keys.length === 0) return w.line("<none>")
  for (const [i, key] of keys.entries()) {
    if (i > 0) {
      w.write(0, indent)
      w.write(0, "\t")
    }
    w.write(0, `${key}=${labels[key]}\n`)
  }
}

/** Writes annotations but the one with the configuration that was applied last. */
export function describeAnnotations(w: PrefixWriter, title: string, annotations: Texts | undefined = {}): void {
  w.write(0, `${title}:\t`)
  const keys = Object.keys(annotations)
    .filter((key) => key !== LAST_APPLIED)
    .sort()
  if (keys.length === 0) return w.line("<none>")
  for (const [i, key] of keys.entries()) {
    if (i > 0) w.write(0, "\t")
    const value = annotations[key]!.replace(/\n$/, "")
    if (Buffer.byteLength(value) + Buffer.byteLength(key) + 2 > MOST_BYTES || value.includes("\n")) {
      w.write(0, `${key}:\n`)
      for (const line of value.split("\n")) w.write(0, `\t  ${shortened(line, MOST_BYTES - 2)}\n`)
    } else w.write(0, `${key}: ${value}\n`)
  }
}

/** Returns the first bytes of a text and `...` where it is longer than `most` bytes; a character may be cut. */
export const shortened = (text: string, most: number): string =>
  Buffer.byteLength(text) > most ? `${textOf(bytesOf(text).subarray(0, most))}...` : text

/** Writes name, labels and annotations, with which most descriptions of objects of the cluster begin. */
export function describeClusterMetadata(w: PrefixWriter, { name = "", labels, annotations }: ObjectMeta): void {
  w.row(0, "Name:", name)
  describeLabels(w, "Labels", labels)
  describeAnnotations(w, "Annotations", annotations)
}

/** Writes name, namespace, labels and annotations. */
export function describeMetadata(
  w: PrefixWriter,
  { name = "", namespace = "", labels, annotations }: ObjectMeta,
): void {
  w.row(0, "Name:", name)
  w.row(0, "Namespace:", namespace)
  describeLabels(w, "Labels", labels)
  describeAnnotations(w, "Annotations", annotations)
}

/** Returns a set of labels in one line: `a=b,c=d`, or `<none>`. Source: labels.FormatLabels. */
export const labelsText = (labels: Texts | undefined): string => setText(labels) || "<none>"

/** Returns the text of a label selector, with `<none>` for one that selects all. Source: metav1.FormatLabelSelector. */
export function selectorText(selector: LabelSelector | undefined): string {
  try {
    return fromLabelSelector(selector).toString() || "<none>"
  } catch {
    return "<error>"
  }
}

/** Returns labels as the text of the selector that requires them; empty for none. */
export const setText = (labels: Texts | undefined = {}): string =>
  Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key]}`)
    .join(",")

/** Returns `<kind>/<name>` of the controller that owns an object; undefined when none does. */
export function controllerOf({ ownerReferences = [] }: ObjectMeta): string | undefined {
  const owner = ownerReferences.find(({ controller }) => controller === true)
  return owner === undefined ? undefined : `${owner.kind}/${owner.name}`
}
