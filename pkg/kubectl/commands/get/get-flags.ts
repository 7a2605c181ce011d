import type { Invocation } from "../../command/command.ts"
import { boolFlag, stringFlag, stringSliceFlag, type FlagValues } from "../../command/flag.ts"
import {
  allNamespacesFlag,
  chunkSizeFlag,
  filenameFlags,
  selectorFlag,
  subresourceFlag,
} from "../../command/shared-flags.ts"
import { JSON_YAML_FORMATS } from "../../printers/print-flags.ts"
import { TEMPLATE_FORMATS, templateFlags } from "../../printers/template-flags.ts"

export const GET_FORMATS = [
  ...JSON_YAML_FORMATS,
  "name",
  ...TEMPLATE_FORMATS,
  "custom-columns",
  "custom-columns-file",
  "wide",
]

/** Source of names and defaults: kubectl pkg/cmd/get/get.go, get_flags.go and humanreadable_flags.go. */
export const getFlags = {
  ...templateFlags,
  ...allNamespacesFlag(
    "If set, list the objects of all namespaces. The namespace of the context does not count then, nor that of --namespace.",
  ),
  ...filenameFlags("that name the objects to get from the server."),
  ...chunkSizeFlag(),
  ...selectorFlag(),
  ...subresourceFlag("If set, get this subresource of the objects."),
  "field-selector": stringFlag(
    "",
    "A field selector with '=', '==', and '!=' (e.g. --field-selector key1=value1,key2=value2). Which fields it may have depends on the resource.",
  ),
  "ignore-not-found": boolFlag(
    false,
    "If true, an object that does not exist is no error. Without effect on lists, which may be empty anyway.",
  ),
  "label-columns": stringSliceFlag(
    [],
    "Labels that are columns of the table, between commas. Upper and lower case differ. The flag may be repeated: -L label1 -L label2...",
    { shorthand: "L" },
  ),
  "no-headers": boolFlag(false, "Print the table, or the custom columns, without a header."),
  output: stringFlag(
    "",
    `Output format. One of: (${GET_FORMATS.join(", ")}). See custom columns [https://kubernetes.io/docs/reference/kubectl/#custom-columns], golang template [http://golang.org/pkg/text/template/#pkg-overview] and jsonpath template [https://kubernetes.io/docs/reference/kubectl/jsonpath/].`,
    { shorthand: "o" },
  ),
  "output-watch-events": boolFlag(
    false,
    "With --watch or --watch-only, print events of the watch. Objects that are there already are events of type ADDED.",
  ),
  raw: stringFlag("", "The path of a request to the server, instead of a resource. It is sent as the kubeconfig says."),
  "server-print": boolFlag(true, "If true, the server makes the table. Then custom resources have their own columns."),
  "show-kind": boolFlag(false, "If set, print the kind in front of each name."),
  "show-labels": boolFlag(false, "Print all labels in the last column of the table."),
  "sort-by": stringFlag(
    "",
    "A field by which lists are sorted, as a JSONPath expression (e.g. '{.metadata.name}'). Its values must be integers or texts.",
  ),
  watch: boolFlag(false, "After the objects, print their changes.", { shorthand: "w" }),
  "watch-only": boolFlag(false, "Print only changes of the objects."),
}

export type GetValues = FlagValues<typeof getFlags>
export type GetInvocation = Invocation<typeof getFlags>
