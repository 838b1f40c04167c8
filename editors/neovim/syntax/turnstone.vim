if exists('b:current_syntax')
  finish
endif
syntax sync minlines=50
syntax match TurnstoneChatUser /^## You$/
syntax match TurnstoneChatAssistant /^## turnstone$/
syntax match TurnstoneChatTool /^[○●✓–] .*/
syntax match TurnstoneChatError /^✗ .*/
syntax match TurnstoneChatNotice /^[·!] .*/
syntax match TurnstoneChatThinking /^\(···\|  ┆\).*/
syntax match TurnstoneChatOutput /^  │.*/
syntax region markdownCode start=/`/ end=/`/ oneline
syntax region markdownCodeBlock start=/^```/ end=/^```\s*$/ keepend
syntax match markdownBold /\*\*[^*]\+\*\*/
syntax match Title /^#\{1,6} .*/ contains=TurnstoneChatUser,TurnstoneChatAssistant
highlight default link markdownCode String
highlight default link markdownCodeBlock String
highlight default markdownBold gui=bold cterm=bold
let b:current_syntax = 'turnstone'
