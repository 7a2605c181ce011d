import { lenientPath, sortObjects } from "../../printers/sort-by.ts"
import type { Info } from "../../resource/info.ts"

/**
 * Sorts what is printed by a field. Each table of the server counts as one object: its rows are sorted when it is
 * printed. Source: kubectl pkg/cmd/get/get.go (RuntimeSorter). @throws SortError, or Error for values that cannot be
 * compared
 */
export const sortInfos = (infos: readonly Info[], field: string): readonly Info[] =>
  infos.length <= 1 ? infos : sortObjects(infos, lenientPath(field), ({ loaded }) => loaded)
