import { command } from "../command/command.ts"

/** Its help is the list of all global flags, which kubectl.ts prints. */
export const optionsCommand = command({
  use: "options",
  short: "List the flags that every command has",
  run: ({ help, out }) => out.write(help()),
})
