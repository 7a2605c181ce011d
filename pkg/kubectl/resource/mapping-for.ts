import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { isNoMatch } from "../errors/errors.ts"
import { parseResourceArg, type RestMapper, type RestMapping } from "../rest/rest-mapper.ts"

/** The resource that a word of the command line means: a resource, or a kind. @throws Error that names the resource */
export async function mappingFor(mapper: RestMapper, type: string): Promise<RestMapping> {
  const { full, partial } = parseResourceArg(type)
  for (const wanted of full === undefined ? [partial] : [full, partial])
    try {
      const { group, kind, version } = await mapper.kindFor(wanted)
      return await mapper.restMapping(group, kind, version)
    } catch {
      // It may be a kind, or the same error comes again below.
    }
  try {
    const { group, resource, version } = full ?? partial
    if (resource !== "") return await mapper.restMapping(group, resource, version)
  } catch {
    // As above.
  }
  try {
    return await mapper.restMapping(partial.group, partial.resource)
  } catch (err) {
    if (isNoMatch(err))
      throw new Error(`the server doesn't have a resource type ${goQuoted(partial.resource)}`, { cause: err })
    throw err
  }
}
