const SHORT: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
}

/** Every access mode there is, in the order of the alphabet. */
export const ACCESS_MODES: readonly string[] = Object.keys(SHORT).sort()

/** Access modes as kubectl shows them: `RWO,ROX`. */
export const accessModesText = (modes: readonly string[] = []): string =>
  Object.keys(SHORT)
    .filter((mode) => modes.includes(mode))
    .map((mode) => SHORT[mode])
    .join(",")
