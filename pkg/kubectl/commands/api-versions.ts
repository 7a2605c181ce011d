import { command } from "../command/command.ts"

/** Source: kubectl pkg/cmd/apiresources/apiversions.go. */
export const apiVersionsCommand = command({
  use: "api-versions",
  noFlagsInUse: true,
  short: 'Print the versions of the API that the server has, as "group/version"',
  long: 'Print the versions of the API that the server has, as "group/version".',
  example: "# Print the versions of the API\nkubectl api-versions",
  async run({ args, usageError, factory, out }) {
    if (args.length > 0) throw usageError(`unexpected arguments: [${args.join(" ")}]`)
    const discovery = await factory.discovery()
    // The answer must be that of the server now.
    discovery.invalidate()
    let groups
    try {
      groups = await discovery.groups()
    } catch (err) {
      throw new Error(`couldn't get available api versions from server: ${(err as Error).message}`, { cause: err })
    }
    const versions = groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion)).sort()
    for (const version of versions) await out.write(`${version}\n`)
  },
})
