# Redmine's config.ru. The first start seeds, because a process of its own for that would load Redmine a second time.
require '/usr/share/redmine/config/environment'
if ENV['SEED']
  load ENV['SEED']
  $stdout.flush
end
# One request at a time.
use Rack::Lock if ENV['SERIAL'] == '1'
run Rails.application
