import { formatQuantity, parseQuantity, type Quantity } from "../../apimachinery/scalars/quantity.ts"
import type { ResourceRequirements } from "../../api/core/v1/resources/resources.ts"
import type { PrefixWriter } from "./prefix-writer.ts"

export type Quantities = Readonly<Record<string, string>>

/** Returns a quantity in canonical form; `0` for an absent one. */
export const quantityText = (text: string | undefined): string => formatQuantity(quantityOf(text))

/** Returns a quantity in canonical form; `<nil>` for an absent pointer to one. */
export const quantityPointerText = (text: string | undefined): string =>
  text === undefined ? "<nil>" : quantityText(text)

/** Parses a quantity; an absent one is zero. */
export const quantityOf = (text: string | undefined): Quantity =>
  (text === undefined ? undefined : parseQuantity(text)) ?? ZERO
export const ZERO: Quantity = { nano: 0n, format: "DecimalSI" }

/** Writes limits and requests by the names of the resources. */
export function describeResources(
  w: PrefixWriter,
  level: number,
  { limits, requests }: Pick<ResourceRequirements, "limits" | "requests">,
): void {
  describeQuantities(w, level, "Limits:", limits)
  describeQuantities(w, level, "Requests:", requests)
}

function describeQuantities(w: PrefixWriter, level: number, title: string, quantities: Quantities = {}): void {
  const names = Object.keys(quantities).sort()
  if (names.length > 0) w.row(level, title)
  for (const name of names) w.row(level + 1, `${name}:`, quantityText(quantities[name]))
}
