const SHORT: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
}

/** Access modes as kubectl shows them: `RWO,ROX`. */
export const accessModesText = (modes: readonly string[] = []): string =>
  Object.keys(SHORT)
    .filter((mode) => modes.includes(mode))
    .map((mode) => SHORT[mode])
    .join(",")
