import { isList, type Unstructured } from "../rest/json.ts"

/** The items of a list. In a list of one kind they may leave out their kind, which is then that of the list. */
export function listItems(list: Unstructured & { items: Unstructured[] }): readonly Unstructured[] {
  const kind = list.kind?.endsWith("List") === true ? list.kind.slice(0, -"List".length) : ""
  if (kind === "") return list.items
  return list.items.map((item) =>
    item.kind === undefined || item.apiVersion === undefined
      ? { ...item, kind: item.kind ?? kind, ...(list.apiVersion === undefined ? {} : { apiVersion: list.apiVersion }) }
      : item,
  )
}

/** The objects in a list and in the lists in it. */
export function allItems(list: Unstructured & { items: Unstructured[] }): readonly Unstructured[] {
  const items = listItems(list)
  return [...items.filter((item) => !isList(item)), ...items.filter(isList).flatMap(allItems)]
}
