import { isJsonObject } from "../../../apimachinery/json/json-value.ts"
import type { Unstructured } from "../../rest/json.ts"

const MASK = "***"

/**
 * Returns both versions of a Secret without its values: only whether they differ can be seen. Source: kubectl
 * pkg/cmd/diff/diff.go Masker.
 */
export function maskedSecrets(
  from: Unstructured | undefined,
  to: Unstructured,
): { readonly from: Unstructured | undefined; readonly to: Unstructured } {
  const [before, after] = [dataOf(from), dataOf(to)]
  const differs = (key: string) => Object.hasOwn(before, key) && Object.hasOwn(after, key) && before[key] !== after[key]
  const masked = (data: Readonly<Record<string, unknown>>, differing: string) =>
    Object.fromEntries(Object.keys(data).map((key) => [key, differs(key) ? `${MASK} (${differing})` : MASK]))
  const withData = (object: Unstructured, data: object) => (isJsonObject(object["data"]) ? { ...object, data } : object)
  return {
    from: from === undefined ? undefined : withData(from, masked(before, "before")),
    to: withData(to, masked(after, "after")),
  }
}

const dataOf = (object: Unstructured | undefined): Readonly<Record<string, unknown>> => {
  const data = object?.["data"]
  return isJsonObject(data) ? data : {}
}
