import type { Info } from "../../resource/info.ts"

/** Sorts what is printed by a field. @throws Error when the field has no values that can be compared */
export function sortInfos(_infos: readonly Info[], field: string): Promise<readonly Info[]> {
  return Promise.reject(new Error(`sorting by ${field} is not there yet`))
}
