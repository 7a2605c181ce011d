const SHORT: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
}

/** All access modes in alphabetical order. */
export const ACCESS_MODES: readonly string[] = Object.keys(SHORT).sort()

/** Formats access modes as kubectl does: `RWO,ROX`. */
export const accessModesText = (modes: readonly string[] = []): string =>
  Object.keys(SHORT)
    .filter((mode) => modes.includes(mode))
    .map((mode) => SHORT[mode])
    .join(",")
