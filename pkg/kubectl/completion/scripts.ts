/**
 * Scripts that complete kubectl in a shell. Each asks `kubectl __complete WORD…`, whose last line is a number of bits:
 * 2 is no space behind the word, 4 no names of files, 8 names of files with these endings.
 */
export const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# kubectl completion for bash. Load it with: source <(kubectl completion bash)
__start_kubectl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} line directive=0 lines=()
  COMPREPLY=()
  if [ "$cur" = "=" ]; then cur=; fi
  while IFS= read -r line; do
    case "$line" in
    :*) directive=\${line#:} ;;
    *) lines+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if ((directive & 8)); then
    compopt -o filenames 2>/dev/null
    local ending file
    while IFS= read -r file; do
      if [ -d "$file" ]; then COMPREPLY+=("$file"); fi
      for ending in "\${lines[@]}"; do case "$file" in *."$ending") COMPREPLY+=("$file") ;; esac; done
    done < <(compgen -f -- "$cur")
    return
  fi
  if ((directive & 2)); then compopt -o nospace 2>/dev/null; fi
  for line in "\${lines[@]}"; do case "$line" in "$cur"*) COMPREPLY+=("$line") ;; esac; done
  if [ \${#COMPREPLY[@]} -eq 0 ] && ! ((directive & 4)); then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur")
  fi
}
complete -o default -F __start_kubectl kubectl
`,
  zsh: `#compdef kubectl
# kubectl completion for zsh. Load it with: source <(kubectl completion zsh)
_kubectl() {
  local line directive=0
  local -a found
  while IFS= read -r line; do
    case "$line" in
    :*) directive=\${line#:} ;;
    *) found+=("\${\${line%%$'\\t'*}//:/\\\\:}\${\${line#*$'\\t'}:+:\${\${(M)line:#*$'\\t'*}#*$'\\t'}}") ;;
    esac
  done < <(\${words[1]} __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( directive & 8 )); then _files -g "*.(\${(j:|:)found%%:*})"; return; fi
  if (( directive & 2 )); then _describe -V completions found -S ''; else _describe -V completions found; fi
  if (( \${#found} == 0 && ! (directive & 4) )); then _files; fi
}
if [ "$funcstack[1]" = "_kubectl" ]; then _kubectl "$@"; else compdef _kubectl kubectl; fi
`,
  fish: `# kubectl completion for fish. Load it with: kubectl completion fish | source
function __kubectl_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l directive 0
  set -l found
  for line in ($words[1] __complete $words[2..-1] 2>/dev/null)
    if string match -q ':*' -- $line
      set directive (string sub -s 2 -- $line)
    else
      set -a found $line
    end
  end
  if test (math "bitand($directive, 8)") -ne 0; or begin; test (count $found) -eq 0; and test (math "bitand($directive, 4)") -eq 0; end
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $found
  end
end
complete -c kubectl -f -a '(__kubectl_complete)'
`,
  powershell: `# kubectl completion for PowerShell. Load it with: kubectl completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName kubectl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -eq '') { $words += '' }
  kubectl __complete @words 2>$null | Where-Object { $_ -notlike ':*' } | ForEach-Object {
    $parts = $_ -split "\\t", 2
    $about = if ($parts.Count -gt 1) { $parts[1] } else { ' ' }
    [System.Management.Automation.CompletionResult]::new($parts[0], $parts[0], 'ParameterValue', $about)
  }
}
`,
}
