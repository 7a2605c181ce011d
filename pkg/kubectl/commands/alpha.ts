import { command } from "../command/command.ts"

/** Source: kubectl pkg/cmd/alpha.go. There are no such commands in 1.36. */
export const alphaCommand = command({
  use: "alpha",
  short: "Commands for features in alpha",
  hidden: true,
  run: ({ errOut }) => errOut.write("No alpha commands are available in this version of kubectl\n"),
})
